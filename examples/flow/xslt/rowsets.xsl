<?xml version="1.0" encoding="UTF-8"?>
<!-- Components of a production order as rows -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="xml" encoding="UTF-8"/>
  <xsl:strip-space elements="*"/>
  <xsl:template match="/">
    <Rowsets><xsl:apply-templates select="LOIPRO01/IDOC/E1AFKOL"/></Rowsets>
  </xsl:template>
  <xsl:template match="E1AFKOL">
    <Rowset order="{AUFNR}" finish="{concat(substring(GLTRS, 1, 4), '-', substring(GLTRS, 5, 2), '-', substring(GLTRS, 7, 2))}">
      <xsl:apply-templates select="E1AFFLL/E1AFVOL/E1RESBL"/>
    </Rowset>
  </xsl:template>
  <xsl:template match="E1RESBL">
    <Row>
      <Order><xsl:value-of select="ancestor::E1AFKOL/AUFNR"/></Order>
      <Operation><xsl:value-of select="../VORNR"/></Operation>
      <Item><xsl:value-of select="POSNR"/></Item>
      <Material><xsl:value-of select="MATNR"/></Material>
      <Quantity><xsl:value-of select="number(BDMNG)"/></Quantity>
      <Unit><xsl:value-of select="MEINS"/></Unit>
    </Row>
  </xsl:template>
</xsl:stylesheet>
